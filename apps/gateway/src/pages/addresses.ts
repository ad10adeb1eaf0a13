/** Where the pages are: the first on the port for clients, the second on the admin port. */

export const CUSTOMER_PAGE = '/dashboard';
export const CONSOLE_PAGE = '/console';
