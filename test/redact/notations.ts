/** The notations that values of tasks come in. */

/** A value as a task might be called with. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

/** How a value is written. */
type Notation = (value: Value) => string;

/** The quotes that Python's `repr` takes: single ones, unless the text has only such. */
function quoted(text: string, backslash: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', backslash).replaceAll(quote, `\\${quote}`);
  return `${quote}${escaped}${quote}`;
}

function python(value: Value, write: (text: string) => string): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return write(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) {
    const items = value.map((item: Value) => python(item, write));
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`;
  }
  const members = Object.entries(value).map(([key, item]) => `${write(key)}: ${python(item, write)}`);
  return `{${members.join(', ')}}`;
}

/** `repr(value)` */
const pythonRepr: Notation = (value) =>
  python(value, (text) => quoted(text, '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r'));

/** Celery's `saferepr`: it escapes neither backslashes nor line breaks. */
const celeryRepr: Notation = (value) => python(value, (text) => quoted(text, '\\'));

/** `repr` of bytes for every text. */
const bytesRepr: Notation = (value) =>
  python(value, (text) => `b${quoted(text, '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}`);

const json: Notation = (value) => JSON.stringify(value);

const prettyJson: Notation = (value) => JSON.stringify(value, null, 2);

const jsonInJson: Notation = (value) => JSON.stringify({ message: JSON.stringify(value), attempt: 1 });

const jsonInRepr: Notation = (value) => pythonRepr([JSON.stringify(value), 7]);

const reprInJson: Notation = (value) => JSON.stringify([pythonRepr(value), null]);

/** `repr` of keyword arguments as a call shows them: `f(a='x', b=1)`. */
const call: Notation = (value) =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? `f(${pythonRepr(value)})`
    : `f(${Object.entries(value)
        .map(([key, item]) => `${key}=${pythonRepr(item)}`)
        .join(', ')})`;

/** All of them by name. */
export const NOTATIONS: Readonly<Record<string, Notation>> = {
  json,
  prettyJson,
  jsonInJson,
  pythonRepr,
  celeryRepr,
  bytesRepr,
  jsonInRepr,
  reprInJson,
  call,
};
