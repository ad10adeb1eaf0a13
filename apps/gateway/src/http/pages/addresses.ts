/** The customer page is on the port for clients, the console on the admin port. */

export const CUSTOMER_PAGE = '/dashboard';
export const CONSOLE_PAGE = '/console';
