/** A request without a usable answer. Its message is a full sentence for the person at the page. */
export class RequestError extends Error {}

/** The error for an answer that is not 200; `detail` is the server's own message, where it sent one. */
export function statusError(status: number, url: string, detail: string | undefined): RequestError {
  const said = detail === undefined ? '' : ` It says: ${detail}`;
  switch (status) {
    case 401:
      return new RequestError('You are not signed in (401). Sign in, then try again.');
    case 403:
      return new RequestError('You may not see this dashboard (403).');
    case 404:
      return new RequestError(
        `Nothing is served at ${url} (404).${said || ' Check where the dashboard is mounted, and its basePath.'}`,
      );
    case 503:
      return new RequestError(`The server is not ready (503).${said}`);
    default:
      return new RequestError(`The server answered with an error (${status}).${said}`);
  }
}
