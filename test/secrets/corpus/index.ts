/** The corpus: texts with secrets that must not come out, and texts that must come out as they are. */
import { CUT_TEXTS } from './cut.ts';
import type { SecretText } from './entry.ts';
import { ESCAPED_TEXTS } from './escaped.ts';
import { HARMLESS_LOOKALIKES } from './harmless-lookalikes.ts';
import { HARMLESS_NAMES } from './harmless-names.ts';
import { HARMLESS_VALUES } from './harmless-values.ts';
import { HEADER_TEXTS } from './headers.ts';
import { JSON_TEXTS } from './json.ts';
import { KEY_TEXTS } from './keys.ts';
import { LAYOUT_TEXTS } from './layouts.ts';
import { NAME_TEXTS } from './names.ts';
import { PYTHON_TEXTS } from './python.ts';
import { SETTING_TEXTS } from './settings.ts';
import { TOKEN_TEXTS } from './tokens.ts';
import { TRACEBACK_TEXTS } from './tracebacks.ts';
import { URL_TEXTS } from './urls.ts';

export { leakIn, partsOf, type SecretText } from './entry.ts';

/** Whole texts, by the file that they stand in. */
export const WHOLE_FILES: Readonly<Record<string, readonly SecretText[]>> = {
  json: JSON_TEXTS,
  python: PYTHON_TEXTS,
  urls: URL_TEXTS,
  headers: HEADER_TEXTS,
  settings: SETTING_TEXTS,
  tracebacks: TRACEBACK_TEXTS,
  tokens: TOKEN_TEXTS,
  keys: KEY_TEXTS,
  names: NAME_TEXTS,
  escaped: ESCAPED_TEXTS,
  layouts: LAYOUT_TEXTS,
};
export const WHOLE_TEXTS: readonly SecretText[] = Object.values(WHOLE_FILES).flat();

/** Texts that their engine has cut. */
export { CUT_TEXTS };

/** What looks a little like a secret and is none: it must come out as it is. */
export const HARMLESS_FILES: Readonly<Record<string, readonly string[]>> = {
  'harmless-names': HARMLESS_NAMES,
  'harmless-values': HARMLESS_VALUES,
  'harmless-lookalikes': HARMLESS_LOOKALIKES,
};
export const HARMLESS_TEXTS: readonly string[] = Object.values(HARMLESS_FILES).flat();
