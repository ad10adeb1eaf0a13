import { jest } from '@jest/globals';

/** Makes the global `fetch` return a response. @returns the bodies that are sent */
export function answerWith(status: number, body: string, type: string): unknown[] {
  const sent: unknown[] = [];
  jest.spyOn(globalThis, 'fetch').mockImplementation((_url, init) => {
    sent.push(JSON.parse(init?.body as string));
    return Promise.resolve(new Response(body, { status, headers: { 'content-type': type } }));
  });
  return sent;
}
