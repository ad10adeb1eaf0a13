/** Forwards one request and its response. Used by the bare proxy and the Express skeleton. */

export function forward({ pool, path, body, res }) {
  const headers = {
    'content-type': 'application/json',
    'x-api-key': 'benchmark',
    'anthropic-version': '2023-06-01',
  };
  let upstream;
  res.on('drain', () => upstream.resume());
  pool.dispatch(
    { method: 'POST', path, headers, body },
    {
      onRequestStart(controller) {
        upstream = controller;
      },
      onResponseStart(_controller, status, responseHeaders) {
        const { 'content-type': type, 'content-length': length } = responseHeaders;
        res.writeHead(status, {
          'content-type': type,
          ...(length === undefined ? {} : { 'content-length': length }),
        });
      },
      onResponseData(controller, chunk) {
        if (!res.write(chunk)) controller.pause();
      },
      onResponseEnd() {
        res.end();
      },
      onResponseError(_controller, error) {
        console.error(error);
        res.destroy();
      },
    },
  );
}
