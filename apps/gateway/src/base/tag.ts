/** A tag of a request: up to 64 printable characters, which neither begin nor end with a space. */
export const TAG = /^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]{0,62}[^\p{C}\p{Z}])?$/u;
