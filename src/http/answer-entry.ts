/** An answer as it is kept: its body, and what is needed to send it again later. */
import type { Freshness } from '../read.ts';
import type { Document } from './send.ts';

/** An answer but for the moment it is given at. */
export interface AnswerContent {
  /** What the ETag covers of it. */
  readonly stable: string;
  /**
   * The whole body.
   *
   * @param generatedAt milliseconds since 1970
   * @param sources JSON for the member `sources`
   */
  render(generatedAt: number, sources: string): string;
  /** For the `Link` header: where the next page begins. */
  readonly nextCursor?: string | null;
  /** For a stream: where this answer stands among its changes. */
  readonly position?: StreamPosition;
  /** Milliseconds since 1970 at which the clock alone changes it, beside what the source says. */
  readonly changesAt?: number;
  /** By source: items that were left out because they could not be read. */
  readonly unreadable?: Unreadable;
}

/** How many items could not be read, by the name of their source. */
export type Unreadable = ReadonlyMap<string, number>;

/** Where an answer stands that tells what has changed. */
export interface StreamPosition {
  /** What the next one asks `since` for. */
  readonly cursor: string;
  /** Whether it tells anything. */
  readonly hasChanges: boolean;
  /** Whether something was missed before it. */
  readonly gap: boolean;
  /** Whether more has happened than it could hold. */
  readonly isFull: boolean;
}

/** An answer that was given, with how current it is. */
export interface AnswerEntry extends Document {
  readonly content: AnswerContent;
  readonly freshness: Freshness;
  /** When its moments were written, in milliseconds since 1970. */
  readonly renderedAt: number;
  readonly size: number;
}
