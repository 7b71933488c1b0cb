/** Result of the layout of a graph. */
import type { DrawnEdge } from './structure.ts';

/** Width and height of a node, in pixels: two lines of title and one of state. */
export const NODE = { width: 190, height: 60 };

/** Positions of the lines of a node, in pixels from its top, for a title with one or two lines. */
export const LINES: readonly (readonly number[])[] = [[], [25, 43], [18, 33, 51]];

/** Centre of a node. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** An edge, and the points from its source to its target through which it passes. */
export interface Route {
  readonly edge: DrawnEdge;
  readonly points: readonly Point[];
}

/** Position of every node and edge, and the size of the whole drawing. */
export interface Layout {
  readonly points: ReadonlyMap<string, Point>;
  readonly routes: readonly Route[];
  readonly width: number;
  readonly height: number;
  /** Whether ranks run from top to bottom, which suits screens that are taller than wide. */
  readonly isDown: boolean;
}
