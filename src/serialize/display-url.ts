import { credentialsLength } from '../redact.ts';
import { wellFormed } from './scalars.ts';

// Longer than any URL of a component.
const LONGEST = 2_048;

/** Between the URLs of a list, such as Celery takes for its broker. */
const NEXT_URL = /;(?=\s*[a-z][a-z0-9+.-]*:\/\/)/i;

/**
 * A URL without user, password, query and fragment. Not by the `URL` class: brokers take lists of URLs
 * (`redis://a;redis://b`), paths and hosts that it refuses.
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
