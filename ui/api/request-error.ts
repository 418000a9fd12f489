/** Error of a request without a usable response. The page shows its message to the user. */
export class RequestError extends Error {
  /** Message of a dashboard that does not know the requested event, run or request. */
  readonly notFound: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly notFound?: string | undefined } = {}) {
    super(message, options);
    this.notFound = options.notFound;
  }
}

/**
 * Creates the error for a response whose status is not 200.
 *
 * @param detail message from the body, if it has one
 */
export function statusError(status: number, url: string, detail: string | undefined): RequestError {
  const serverMessage = detail === undefined ? '' : ` Message: ${detail}`;
  switch (status) {
    case 401:
      return new RequestError('You are not signed in (401). Sign in and retry.');
    case 403:
      return new RequestError('You have no access to this dashboard (403).');
    case 404:
      return new RequestError(
        `Nothing is served at ${url} (404).${serverMessage || ' Check the mount path of the dashboard and its basePath.'}`,
        { notFound: detail },
      );
    case 503:
      return new RequestError(`The server is not ready (503).${serverMessage}`);
    default:
      return new RequestError(`The server responded with an error (${status}).${serverMessage}`);
  }
}
