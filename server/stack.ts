/**
 * Returns the frames of an error's stack, without its message. Messages may have several lines, and lines that look
 * like frames.
 */
export function stackFrames(error: Error): string {
  try {
    const { stack, message } = error;
    if (typeof stack !== 'string') return '';
    const at = stack.indexOf(message);
    const rest = at === -1 ? stack : stack.slice(at + message.length);
    const lines = rest.slice(-maxLength).split('\n');
    const last = lines.findLastIndex((line) => !isFrame(line));
    return lines.slice(last + 1).join('\n');
  } catch {
    return '';
  }
}

/** Maximum length of frames, in characters. A message that was replaced later may stand before them, at any length. */
const maxLength = 64 * 1024;

function isFrame(line: string): boolean {
  return /^ {4}at \S.{0,500}$/.test(line);
}

/**
 * Returns `true` if the application's code made an error: its first frame is in a file that belongs to neither the
 * runtime nor an installed package. Frames of the error's own constructors do not count, so that the application may
 * throw errors of a library's class. Without frames the maker is unknown, and the result is `false`: errors of native
 * callbacks have none. Never throws.
 */
export function isMadeByApplication(error: Error): boolean {
  const frames = stackFrames(error).split('\n');
  const maker = frames.find((frame) => !isOwnConstructor(frame, error));
  // An `async` frame waits for the code that made the error, which is native if it has no frame.
  return (
    maker !== undefined && hasPosition.test(maker) && !isInLibrary.test(maker) && !maker.startsWith('    at async ')
  );
}

const hasPosition = /:\d+\)?$/;

/**
 * Modules of Node, Bun and Deno, and installed packages. Hubline's own errors name no values of others. pnpm installs
 * packages into `node_modules/.pnpm/<name>@<version>/node_modules/<name>`.
 */
const isInLibrary =
  /[\s(](?:node|bun|ext|internal|native):|\/registry\.npmjs\.org\/(?!hubline\/)|[\\/]node_modules[\\/](?!hubline[\\/]|\.pnpm[\\/])/;

// A DOMException is the runtime's, whose constructor hides the function that made it.
const constructorFrame = /^ {4}at new (?:\S+\.)?(\S+) \((?!node:)/;

function isOwnConstructor(frame: string, error: Error): boolean {
  const name = constructorFrame.exec(frame)?.[1];
  if (name === undefined) return false;
  for (let prototype: unknown = error; prototype instanceof Error; prototype = Object.getPrototypeOf(prototype)) {
    if (prototype.constructor?.name === name) return true;
  }
  return false;
}
