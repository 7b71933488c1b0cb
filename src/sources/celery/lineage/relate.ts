import type { CollectedHistory } from '../../../history/history.ts';
import type { TaskRelationKind } from '../../../model.ts';
import type { PendingLinks } from './pending-links.ts';

/** The context of the functions of this folder. */
export interface Linking {
  readonly links: PendingLinks;
  /** Receives each relation, some of them more than once. */
  readonly history: CollectedHistory;
}

/** Reports a relation to the history. */
export function relate(
  { history }: Linking,
  parent: string,
  child: string,
  relation: TaskRelationKind,
): void {
  if (parent !== child) history.writer.recordRelation({ parent, child, relation });
}
