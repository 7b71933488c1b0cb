/** Computes the position of each node: ranks from left to right, or from top to bottom. */
import type { Steps } from '../slices.ts';
import type { DrawnEdge, Structure } from './structure.ts';

/** Width and height of a node, in pixels: two lines of title and one of state. */
export const NODE = { width: 190, height: 60 };

/** Positions of the lines of a node, in pixels from its top, for a title with one or two lines. */
export const LINES: readonly (readonly number[])[] = [[], [25, 43], [18, 33, 51]];

/** Centre of a node. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Position of every node and edge, and the size of the whole drawing. */
export interface Layout {
  readonly points: ReadonlyMap<string, Point>;
  /** Each edge, and the points from its source to its target through which it passes. */
  readonly routes: readonly { readonly edge: DrawnEdge; readonly points: readonly Point[] }[];
  readonly width: number;
  readonly height: number;
  /** Whether ranks run from top to bottom, which suits screens that are taller than wide. */
  readonly isDown: boolean;
}

const GAP = 14;
const MARGIN = 20;
/** How often each rank is sorted by its neighbours on one side, then on the other. */
const SWEEPS = 4;

/** A node, or the place where an edge passes a rank. Within its rank it has a position and a size. */
interface Place {
  rank: number;
  at: number;
  readonly size: number;
  readonly before: Place[];
  readonly after: Place[];
}

/**
 * Lays out a graph by rank. An edge over several ranks has a place in each, so that it passes between their nodes; one
 * that leads back within a cycle has none.
 */
export function* layOut({ nodes, edges }: Structure, isDown: boolean): Steps<Layout> {
  const [length, size] = isDown ? [NODE.height, NODE.width] : [NODE.width, NODE.height];
  const placeOf = new Map(nodes.map(({ id }) => [id, newPlace(size)]));
  const joined = edges.flatMap((edge) => {
    const [from, to] = [placeOf.get(edge.source), placeOf.get(edge.target)];
    return from === undefined || to === undefined ? [] : [{ edge, from, to }];
  });
  setRanks([...placeOf.values()], joined);
  const routes = joined.map(({ edge, from, to }) => ({ edge, route: routeOf(from, to) }));
  const ranks = yield* ranksOf(new Set([...placeOf.values(), ...routes.flatMap(({ route }) => route)]));
  const [first, last] = [Math.min(...ranks.map(startOf)), Math.max(...ranks.map(endOf))];
  const step = length + (isDown ? 40 : 60);
  const pointOf = ({ rank, at }: Place): Point => {
    const [along, across] = [MARGIN + length / 2 + rank * step, MARGIN + at - first];
    return isDown ? { x: across, y: along } : { x: along, y: across };
  };
  const [long, wide] = [(ranks.length - 1) * step + length + 2 * MARGIN, last - first + 2 * MARGIN];
  return {
    points: new Map([...placeOf].map(([id, place]) => [id, pointOf(place)])),
    routes: routes.map(({ edge, route }) => ({ edge, points: route.map(pointOf) })),
    width: isDown ? wide : long,
    height: isDown ? long : wide,
    isDown,
  };
}

const newPlace = (size: number, rank = 0): Place => ({ rank, at: 0, size, before: [], after: [] });
const startOf = ([place]: readonly Place[]): number => (place === undefined ? 0 : place.at - place.size / 2);
const endOf = (rank: readonly Place[]): number => {
  const place = rank.at(-1);
  return place === undefined ? 0 : place.at + place.size / 2;
};

/** The places of an edge, from its source to its target. */
function routeOf(from: Place, to: Place): Place[] {
  const between = Math.max(0, to.rank - from.rank - 1);
  const route = [
    from,
    ...Array.from({ length: between }, (_, index) => newPlace(0, from.rank + 1 + index)),
    to,
  ];
  if (to.rank <= from.rank) return route;
  for (const [index, place] of route.slice(1).entries()) {
    place.before.push(route[index] ?? from);
    route[index]?.after.push(place);
  }
  return route;
}

/** The places of each rank, in the order in which they have come to lie near their neighbours. */
function* ranksOf(places: ReadonlySet<Place>): Steps<Place[][]> {
  const ranks: Place[][] = [];
  for (const place of places) {
    ranks[place.rank] ??= [];
    ranks[place.rank]?.push(place);
  }
  for (const rank of ranks) settle(rank, () => []);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const rank of ranks) {
      yield;
      settle(rank, ({ before }) => before);
    }
    for (const rank of ranks.toReversed()) {
      yield;
      settle(rank, ({ after }) => after);
    }
  }
  return ranks;
}

/** Ranks each place by the longest path to it from one without predecessors, or from the first of a cycle. */
function setRanks(
  places: readonly Place[],
  edges: readonly { readonly from: Place; readonly to: Place }[],
): void {
  const targets = new Map<Place, Place[]>(places.map((place) => [place, []]));
  const open = new Map<Place, number>();
  for (const { from, to } of edges) {
    targets.get(from)?.push(to);
    open.set(to, (open.get(to) ?? 0) + 1);
  }
  const seen = new Set<Place>();
  for (const start of [...places.filter((place) => !open.has(place)), ...places]) {
    const reached = seen.has(start) ? [] : [start];
    for (let place = reached.pop(); place !== undefined; place = reached.pop()) {
      seen.add(place);
      for (const target of targets.get(place) ?? []) {
        if (seen.has(target)) continue;
        target.rank = Math.max(target.rank, place.rank + 1);
        const left = (open.get(target) ?? 1) - 1;
        open.set(target, left);
        if (left === 0) reached.push(target);
      }
    }
  }
  // What has no predecessor, like most groups, lies beside the first that follows it.
  for (const place of places) {
    const next = targets.get(place)?.map(({ rank }) => rank - 1) ?? [];
    if (!open.has(place)) place.rank = next.length === 0 ? 0 : Math.min(...next);
  }
}

/**
 * Sorts a rank by the mean position of each place's neighbours, and puts each place as close to it as the others allow:
 * places that touch form a block, which is where they want to be on average.
 */
function settle(rank: Place[], neighboursOf: (place: Place) => readonly Place[]): void {
  const wanted = new Map<Place, number>();
  for (const place of rank) {
    const neighbours = neighboursOf(place);
    const sum = neighbours.reduce((total, { at }) => total + at, 0);
    wanted.set(place, neighbours.length === 0 ? place.at : sum / neighbours.length);
  }
  rank.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
  const blocks: { count: number; mean: number }[] = [];
  let offset = 0;
  for (const place of rank) {
    place.at = offset + place.size / 2;
    offset += place.size + GAP;
    let block = { count: 1, mean: (wanted.get(place) ?? 0) - place.at };
    for (let last = blocks.at(-1); last !== undefined && last.mean > block.mean; last = blocks.at(-1)) {
      blocks.pop();
      const count = last.count + block.count;
      block = { count, mean: (last.mean * last.count + block.mean * block.count) / count };
    }
    blocks.push(block);
  }
  const shifts = blocks.flatMap(({ count, mean }) => Array<number>(count).fill(mean));
  for (const [index, place] of rank.entries()) place.at += shifts[index] ?? 0;
}
