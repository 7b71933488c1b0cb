import { wellFormed } from './scalars.ts';

// Longer than any URL of a component.
const LONGEST = 2_048;

/**
 * A URL without user, password, query and fragment. Not by the `URL` class: brokers take lists of URLs
 * (`redis://a;redis://b`), paths and hosts that it refuses.
 */
export function displayUrl(url: string): string {
  return wellFormed(url.slice(0, LONGEST).split(';').map(withoutSecrets).join(';'));
}

function withoutSecrets(url: string): string {
  const scheme = /^\s*[a-z][a-z0-9+.-]*:\/\//i.exec(url)?.[0] ?? '';
  const rest = url.slice(scheme.length);
  // A password may hold `/`, `?` and `#` as they are: whatever stands before the last `@` is dropped.
  const address = rest.slice(rest.lastIndexOf('@') + 1);
  return scheme + address.replace(/[?#].*$/s, '');
}
