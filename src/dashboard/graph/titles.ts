/** The titles of drawn nodes, whole and as far as there is room for them. */
import { count } from '../text/numbers.ts';
import type { DrawnNode } from './structure.ts';

/** The title of a node in the drawing. */
export const titleOf = ({ kind, name, members }: DrawnNode): string =>
  kind === 'tasks' ? `${count(members.length)} × ${name}` : name;

/** Characters of a title that fit into a node. */
export const TITLE_LENGTH = 23;

/** Cuts a text at its end. */
export function short(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** A name is compared with this many of the same ending. */
const MOST_RIVALS = 200;

/**
 * Titles of at most `most` characters. Of a dotted name that is longer, the part stays that tells it apart from the
 * other names: its end, or the segment that differs.
 *
 * @returns the title of each drawn node by its id
 */
export function titlesOf(nodes: readonly DrawnNode[], most: number): ReadonlyMap<string, string> {
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
