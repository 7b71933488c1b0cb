export { type GraphSince, parseGraphCursor } from './graph/graph-cursor.ts';
export {
  createGraphTracker,
  type GraphTracker,
  type GraphTrackerOptions,
  type GraphView,
} from './graph/graph-tracker.ts';
