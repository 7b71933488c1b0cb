import { credentialsLength } from '../redact.ts';
import { wellFormed } from './scalars.ts';

// Longer than the URL of any real component.
const LONGEST = 2_048;

/** Separator between the URLs of a list, which Celery accepts as a broker URL. */
const NEXT_URL = /;(?=\s*[a-z][a-z0-9+.-]*:\/\/)/i;

/**
 * A URL without user, password, query and fragment. Does not use the `URL` class, because that rejects lists
 * of URLs (`redis://a;redis://b`), paths and some hosts that brokers accept.
 */
export function displayUrl(url: string): string {
  return wellFormed(url.slice(0, LONGEST).split(NEXT_URL).map(withoutSecrets).join(';'));
}

function withoutSecrets(url: string): string {
  const scheme = /^\s*[a-z][a-z0-9+.-]*:\/\//i.exec(url)?.[0] ?? '';
  const address = url.slice(scheme.length);
  const shown = address.slice(credentialsLength(address)).replace(/^@/, '');
  return scheme + shown.replace(/[?#].*$/s, '');
}
