import type { GraphShape } from '../../src/graph/graph-types.ts';

/** The shape of a graph that a test puts together by hand: serializing one asks nothing of it. */
export const NO_SHAPE: GraphShape = {
  links: [],
  kinds: [],
  relations: [],
  listed: [],
  edges: [],
  members: { groups: new Map(), chords: new Map() },
  isCut: false,
  unseen: [],
};
