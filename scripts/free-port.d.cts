/** @returns a port of 127.0.0.1 on which nothing listens; another one in each call */
export declare function freePort(): Promise<number>;
