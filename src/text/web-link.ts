/** Links that a page may show. */

/**
 * Whether a value is an http(s) URL, or one without a scheme, which browsers read against the page's address. Any other
 * scheme could run a script, an address that begins with `//` is another host's, and everybody who sees a link would see
 * the password in it.
 */
export function isWebLink(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_URL) return false;
  if (/\s|\p{Cc}|\\/u.test(value)) return false;
  const isLocal = !/^[a-z][a-z0-9+.-]*:/i.test(value) && !value.startsWith('//');
  const isWeb = /^https?:\/\//i.test(value);
  if (!(isLocal || isWeb) || !URL.canParse(value, 'http://localhost/')) return false;
  const { username, password } = new URL(value, 'http://localhost/');
  return username === '' && password === '';
}

const LONGEST_URL = 2_048;
