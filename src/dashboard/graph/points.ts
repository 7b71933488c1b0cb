/** What every layout of a graph gives. */

/** Width and height of a node. */
export const NODE = { width: 190, height: 46 };

/** The middle of a node. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where every node stands, and the size of the whole drawing. */
export interface Layout {
  readonly points: ReadonlyMap<string, Point>;
  readonly width: number;
  readonly height: number;
  /** Layers from top to bottom, where there is more height than width. */
  readonly isDown: boolean;
}
