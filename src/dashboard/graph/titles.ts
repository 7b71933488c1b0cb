/** The titles of drawn nodes, whole and cut to fit. */
import { count } from '../text/numbers.ts';
import { OTHERS } from './fold.ts';
import type { DrawnNode } from './structure.ts';

/** The title of a node in the drawing. */
export const titleOf = ({ kind, name, members }: DrawnNode): string =>
  kind === 'tasks' ? `${count(members.length)}${name === OTHERS ? '' : ' ×'} ${name}` : name;

/** Characters of each of the two lines of a title. */
const LINE_LENGTH = 22;

/**
 * The titles of drawn nodes by their ids, each in one or two lines: the second has the last segment of the name, cut in
 * its middle, and the first has the part that distinguishes it from the others.
 */
export function titleLines(nodes: readonly DrawnNode[]): ReadonlyMap<string, readonly string[]> {
  const heads = titlesOf(
    nodes.map((node) => ({ ...node, name: node.name.slice(0, Math.max(0, node.name.lastIndexOf('.'))) })),
    LINE_LENGTH - 1,
  );
  return new Map(
    nodes.map((node) => {
      const [title, last] = [titleOf(node), lastOf(node.name)];
      if (title.length <= LINE_LENGTH) return [node.id, [title]];
      const isWhole = last === node.name;
      const first = isWhole ? title.slice(0, LINE_LENGTH) : `${heads.get(node.id)}.`;
      return [node.id, [first, middleCut(isWhole ? title.slice(LINE_LENGTH) : last)]];
    }),
  );
}

function middleCut(text: string): string {
  if (text.length <= LINE_LENGTH) return text;
  const start = Math.floor((LINE_LENGTH - 1) / 2);
  return `${text.slice(0, start)}…${text.slice(start + 1 - LINE_LENGTH)}`;
}

/** Cuts a text at its end. */
export function short(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Maximum number of names with the same ending with which a name is compared. */
const MOST_RIVALS = 200;

/**
 * Titles of at most `most` characters. Of a longer dotted name, the part that distinguishes it from the other names is
 * kept: its end, or the segment that differs.
 *
 * @returns the title of each drawn node by its id
 */
function titlesOf(nodes: readonly DrawnNode[], most: number): ReadonlyMap<string, string> {
  const byEnd = new Map<string, Set<string>>();
  for (const { name } of nodes) {
    const end = lastOf(name);
    byEnd.set(end, (byEnd.get(end) ?? new Set()).add(name));
  }
  return new Map(
    nodes.map((node) => {
      const title = titleOf(node);
      if (title.length <= most) return [node.id, title];
      const before = title.slice(0, title.length - node.name.length);
      const rivals = [...(byEnd.get(lastOf(node.name)) ?? [])].filter((name) => name !== node.name);
      return [node.id, before + distinct(node.name, rivals.slice(0, MOST_RIVALS), most - before.length)];
    }),
  );
}

const lastOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** @param rivals other names with the same last segment */
function distinct(name: string, rivals: readonly string[], most: number): string {
  const parts = name.split('.');
  const ends = parts.map((_, index) => parts.slice(index).join('.')).slice(1);
  const end = ends.find(({ length }) => length < most) ?? '';
  const alike = rivals.filter((rival) => `.${rival}`.endsWith(end === '' ? '' : `.${end}`));
  if (end !== '' && alike.length === 0) return `…${end}`;
  const others = alike.map((rival) => rival.split('.'));
  const differing = parts.findLast((part, index) =>
    others.some((other) => other[other.length - parts.length + index] !== part),
  );
  const head = short(differing ?? name, Math.floor(most / 2));
  return `${head}…${name.slice(head.length + 1 - most)}`;
}
