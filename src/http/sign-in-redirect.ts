/** Checks the sign-in address that `authorize` returned, so that users are not redirected to another site. */
import type { MonitorRequest } from './exchange.ts';

const LONGEST = 2_048;

const EXPECTED =
  "authorize's redirect must be a path such as '/login', or an http(s) URL of the host's own origin, of at most " +
  `${LONGEST} printable ASCII characters without a backslash.`;

/**
 * Returns the address unchanged: browsers resolve it against the address of the page, also behind a proxy.
 *
 * @param value `redirect` as returned by `authorize`
 * @param publicUrl the option of this name. If it has an origin, that is the host's; clients choose the header `Host`
 * @throws TypeError for anything but a path, or a URL of the host's own origin
 */
export function readRedirect(value: unknown, request: MonitorRequest, publicUrl: string | null): string {
  // Browsers read `\` as `/`, and remove line breaks and tabs before they look for `//`.
  const isPlain =
    typeof value === 'string' && value.length <= LONGEST && /^[\x21-\x5b\x5d-\x7e]+$/.test(value);
  if (!isPlain || value.startsWith('//')) throw new TypeError(EXPECTED);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(value);
  if (hasScheme ? !isOwnOrigin(value, request, publicUrl) : !URL.canParse(value, 'http://localhost/')) {
    throw new TypeError(EXPECTED);
  }
  return value;
}

function isOwnOrigin(value: string, request: MonitorRequest, publicUrl: string | null): boolean {
  if (!/^https?:\/\/[^/]/i.test(value) || !URL.canParse(value)) return false;
  const target = new URL(value);
  if (target.username !== '' || target.password !== '') return false;
  const isPublic = publicUrl !== null && /^https?:/i.test(publicUrl);
  const { host: named = request.headers[':authority'] } = request.headers;
  const own = isPublic ? publicUrl : `${isSecure(request) ? 'https' : 'http'}://${named}`;
  if (!URL.canParse(own)) return false;
  const { protocol, host } = new URL(own);
  // A proxy may have terminated TLS: the same host over https is not another site.
  if (target.protocol === 'https:') return target.host === new URL(own.replace(/^http:/i, 'https:')).host;
  return protocol === target.protocol && host === target.host;
}

/** Whether the client used TLS. Behind a proxy that Express trusts, the proxy says so. */
function isSecure(request: MonitorRequest & { readonly secure?: boolean }): boolean {
  return request.secure === true || (request.socket as { encrypted?: boolean }).encrypted === true;
}
