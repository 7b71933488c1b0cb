/** The search language, which is loaded when the reader needs it: completions, and the data that they need. */
import { canAskFor, client } from '../live/connection.ts';
import { taskLink } from '../route.ts';
import { count } from '../text/format.ts';
import { STATES } from '../text/words.ts';
import { ENGINE_STATES, FIELDS, type Field } from './fields.ts';
import { quoted } from './parse.ts';

export { formatSearch, parseSearch, searchIn, withSearch } from './parse.ts';

/** A completion. */
export interface Suggestion {
  readonly label: string;
  /** Its meaning, or how many tasks it has. */
  readonly hint: string;
  /** The search with it, and the position of the caret in it. */
  readonly text: string;
  readonly caret: number;
  /** A page that it opens instead. */
  readonly link?: string;
}

/** A value and its figures: values with more tasks come first. */
interface Facet {
  readonly count: number;
  readonly hint: string;
}

/** Values that tasks of the last day have, by field. */
export type Facets = Readonly<Record<string, ReadonlyMap<string, Facet>>>;

const FRESH_MS = 60_000;
const DAY_MINUTES = 1_440;
let latest: { readonly at: number; readonly facets: Promise<Facets> } | null = null;

/** Reads the values, at most once a minute. Without an answer there are none. */
export function readFacets(): Promise<Facets> {
  if (latest === null || Date.now() - latest.at > FRESH_MS) {
    latest = { at: Date.now(), facets: askForFacets().catch(() => ({})) };
  }
  return latest.facets;
}

async function askForFacets(): Promise<Facets> {
  const [{ stats, sources }, online, components] = await Promise.all([
    client.tasks({ limit: 0, stats: DAY_MINUTES }),
    // Some routes may be forbidden for a reader: then there are only names.
    client.workers().catch(() => null),
    client.components().catch(() => null),
  ]);
  const isBullMQ = sources.some(({ engine }) => engine === 'bullmq');
  const seen = stats?.states ?? {};
  const states = [...Object.keys(seen), ...STATES, ...(isBullMQ ? ENGINE_STATES : [])];
  const active = online?.workers.map(({ hostname, active: running }) => [hostname, running] as const);
  const waiting = components?.queues?.queues?.map((queue) => [queue.name, queue.waiting] as const);
  return {
    state: new Map(states.map((state) => [state, facetOf(seen[state])])),
    name: new Map((stats?.names ?? []).map((figures) => [figures.name, facetOf(figures.count)])),
    queue: facetsOf(stats?.queues ?? [], waiting ?? [], 'waiting'),
    worker: facetsOf(stats?.workers ?? [], active ?? [], 'running'),
    source: new Map(sources.map(({ name }) => [name, facetOf(null)])),
  };
}

function facetOf(known: number | null | undefined, unit = ''): Facet {
  return { count: known ?? 0, hint: known == null ? '' : `${count(known)} ${unit}`.trim() };
}

/** Values of tasks, and values that no task has had yet. A queue of two sources counts for both. */
function facetsOf(
  seen: readonly string[],
  known: readonly (readonly [value: string, figure: number | null])[],
  unit: string,
): ReadonlyMap<string, Facet> {
  const figures = new Map<string, number | null>(seen.map((value) => [value, null]));
  for (const [value, figure] of known) {
    const before = figures.get(value) ?? null;
    figures.set(value, figure === null ? before : figure + (before ?? 0));
  }
  return new Map([...figures].map(([value, figure]) => [value, facetOf(figure, unit)]));
}

const MOST_SHOWN = 12;
const MOST_NAMES = 5;
/** Looks like an id: long, and with a digit. */
const ID = /^(?=.*\d)[\w:-]{8,}$/;

/** The completions of the term at the caret. */
export function suggest(text: string, caret: number, facets: Facets): readonly Suggestion[] {
  const start = startOfTerm(text, caret);
  const [, minus = '', rest = ''] = /^(-?)(.*)$/s.exec(text.slice(start, caret)) ?? [];
  const put = (label: string, hint: string, written: string): Suggestion => {
    const before = text.slice(0, start) + minus + written;
    return { label: minus + label, hint, text: before + text.slice(caret), caret: before.length };
  };
  const colon = rest.indexOf(':');
  const field = rest.slice(0, Math.max(0, colon)).toLowerCase();
  if (colon > 0) {
    const given = rest.slice(0, rest.lastIndexOf(',') + 1) || rest.slice(0, colon + 1);
    const part = rest.slice(given.length);
    return matching(facets[field], part, MOST_SHOWN).map(([value, { hint }]) =>
      put(value, hint, `${given}${quoted(value)} `),
    );
  }
  const fields = Object.entries(FIELDS)
    .filter(([name, field]) => name.startsWith(rest.toLowerCase()) && canAskFor(parameterOf(field)))
    .map(([name, { kind, example }]) =>
      put(kind === 'text' ? `${name}:` : `${name}>`, example, kind === 'text' ? `${name}:` : `${name}>`),
    );
  const names = rest.length < 2 || !canAskFor('name') ? [] : matching(facets.name, rest, MOST_NAMES);
  const open =
    ID.test(rest) && minus === '' ? [{ ...put(`Open task ${rest}`, '', rest), link: taskLink(rest) }] : [];
  return [
    ...open,
    ...fields,
    ...names.map(([value, { hint }]) => put(`name:${value}`, hint, `name:${quoted(value)} `)),
  ].slice(0, MOST_SHOWN);
}

/** A parameter of the field: a source supports all of a field or none. */
function parameterOf({ kind, parameter }: Field): string {
  return kind === 'figure' ? `${parameter}_gt` : parameter;
}

/** The start of the term at or before the caret. */
function startOfTerm(text: string, caret: number): number {
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < caret; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /\s/.test(text[at] as string)) start = at + 1;
  }
  return start;
}

function matching(
  values: Facets[string] | undefined,
  part: string,
  most: number,
): readonly (readonly [value: string, facet: Facet])[] {
  const wanted = part.replaceAll('"', '').toLowerCase();
  return [...(values ?? [])]
    .filter(([value]) => value.toLowerCase().includes(wanted))
    .toSorted(([, a], [, b]) => b.count - a.count)
    .slice(0, most);
}
