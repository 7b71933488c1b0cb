/** What may complete a search, and what is needed beyond its text to say so. */
import { client } from '../live/connection.ts';
import { taskLink } from '../route.ts';
import { count } from '../text/numbers.ts';
import { ENGINE_STATES, FIELDS, STATES } from './fields.ts';
import { quoted } from './parse.ts';

/** A completion. */
export interface Suggestion {
  readonly label: string;
  /** What it means, or how many tasks it has. */
  readonly hint: string;
  /** The search with it, and the position of the caret in it. */
  readonly text: string;
  readonly caret: number;
  /** A page that it opens instead. */
  readonly link?: string;
}

/** Values that tasks of the last day have, by field: with the number of tasks where it is known. */
export type Facets = Readonly<Record<string, ReadonlyMap<string, number | null>>>;

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
  const { stats, sources } = await client.tasks({ limit: 0, stats: DAY_MINUTES });
  const isBullMQ = sources.some(({ engine }) => engine === 'bullmq');
  const seen = Object.entries(stats?.states ?? {});
  const states = [...STATES, ...(isBullMQ ? ENGINE_STATES : [])].map((state) => [state, null] as const);
  return {
    state: new Map<string, number | null>([
      ...seen,
      ...states.filter(([state]) => stats?.states[state] === undefined),
    ]),
    name: new Map((stats?.names ?? []).map((figures) => [figures.name, figures.count])),
    queue: unknownCounts(stats?.queues ?? []),
    worker: unknownCounts(stats?.workers ?? []),
    source: unknownCounts(sources.map(({ name }) => name)),
  };
}

function unknownCounts(values: readonly string[]): ReadonlyMap<string, null> {
  return new Map(values.map((value) => [value, null]));
}

const MOST_SHOWN = 12;
const MOST_NAMES = 5;
/** What looks like an id: long, and with a digit. */
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
    return matching(facets[field], part, MOST_SHOWN).map(([value, number]) =>
      put(value, tasksText(number), `${given}${quoted(value)} `),
    );
  }
  const fields = Object.entries(FIELDS)
    .filter(([name]) => name.startsWith(rest.toLowerCase()))
    .map(([name, { kind, example }]) =>
      put(kind === 'text' ? `${name}:` : `${name}>`, example, kind === 'text' ? `${name}:` : `${name}>`),
    );
  const names = rest.length < 2 ? [] : matching(facets.name, rest, MOST_NAMES);
  const open =
    ID.test(rest) && minus === '' ? [{ ...put(`Open task ${rest}`, '', rest), link: taskLink(rest) }] : [];
  return [
    ...open,
    ...fields,
    ...names.map(([value, number]) => put(`name:${value}`, tasksText(number), `name:${quoted(value)} `)),
  ].slice(0, MOST_SHOWN);
}

/** Where the term begins that the caret is in or behind. */
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
): readonly (readonly [value: string, count: number | null])[] {
  const wanted = part.replaceAll('"', '').toLowerCase();
  return [...(values ?? [])]
    .filter(([value]) => value.toLowerCase().includes(wanted))
    .toSorted(([, a], [, b]) => (b ?? 0) - (a ?? 0))
    .slice(0, most);
}

function tasksText(number: number | null): string {
  return number === null ? '' : count(number);
}
