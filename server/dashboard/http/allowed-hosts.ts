import { InvalidOptionError } from '../../errors.js';

/** Returns `true` for a `Host` header that the dashboard answers. */
export type HostCheck = (host: string | undefined) => boolean;

// A name, an IPv4 address, or an IPv6 address in brackets, with an optional port.
const hostPattern = /^(?<name>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?$/i;

/**
 * Creates the check of the `Host` header. A host without a port allows every port.
 *
 * @throws {InvalidOptionError}
 */
export function createHostCheck(allowedHosts: unknown): HostCheck {
  if (allowedHosts === undefined) return () => true;
  const valid = Array.isArray(allowedHosts) && allowedHosts.length > 0 && allowedHosts.every(isHost);
  if (!valid) {
    const got = Array.isArray(allowedHosts) ? JSON.stringify(allowedHosts) : allowedHosts;
    throw new InvalidOptionError(
      'allowedHosts',
      'hosts such as ["localhost", "127.0.0.1", "ops.example.com:8443"]',
      got,
    );
  }
  const allowed = new Set(allowedHosts.map((host: string) => host.toLowerCase()));
  return (host) => {
    if (host === undefined) return false;
    const name = hostPattern.exec(host)?.groups?.['name'];
    return name !== undefined && (allowed.has(name.toLowerCase()) || allowed.has(host.toLowerCase()));
  };
}

function isHost(value: unknown): value is string {
  return typeof value === 'string' && hostPattern.test(value);
}
