/**
 * The contract between a combined part and its reader. The reader guards each part separately: it passes
 * a {@link FanOut} in the context, and the combined part reads its parts through it.
 */
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';

/** A part that consists of others, as `combineSources` makes it. */
export interface CombinedPart<Part extends SourcePart> extends SourcePart {
  /** The parts, in their order. None of them is a combination. */
  readonly combinedParts: readonly Part[];
}

/** The context that readers pass to combined parts. */
export interface FanOutContext extends ReadContext {
  readonly fanOut?: FanOut;
}

/** One read of one of the parts. */
export interface PartRead<Raw> {
  readonly part: SourcePart;
  /** Name of the method, for reports. */
  readonly call: string;
  /** Distinguishes several reads of one method of the same part. Default: there is one. */
  readonly which?: string;
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Counts the items of an answer.
   *
   * @throws TypeError when it is not of its type
   */
  count(raw: Raw): number;
  /** Whether the last answer of a part replaces a failed one. Default true. */
  readonly mayBeOld?: boolean;
}

/** The outcome of a {@link PartRead}. */
export type Reply<Raw> = { readonly raw: Raw } | { readonly error: unknown };

/** One read of a combined part: how it reads its parts, and what it reports about them. */
export interface FanOut {
  /**
   * Reads one part. A failure of the part becomes a reply rather than a rejection if the reader can report it; a fault
   * of the request itself always rejects.
   */
  ask<Raw>(read: PartRead<Raw>): Promise<Reply<Raw>>;
  /** Records which part an item came from, and returns the item to list. */
  attribute<Item>(item: Item, part: SourcePart): Item;
  /** Records the number of items that were left out because they could not be read. */
  leaveOut(part: SourcePart, call: string, count: number): void;
}

/** Whether a part consists of others. */
export function isCombined(part: SourcePart): boolean {
  return (part as Partial<CombinedPart<SourcePart>>).combinedParts !== undefined;
}

/** The parts of a combination; the part itself if it is not combined. */
export function partsOf<Part extends SourcePart>(part: Part): readonly Part[] {
  return (part as Partial<CombinedPart<Part>>).combinedParts ?? [part];
}

/** The reader's fan-out; without one, a fan-out in which every failure rejects. */
export function fanOutOf(context: FanOutContext): FanOut {
  return context.fanOut ?? strictFanOut(context);
}

/** An outage that cannot be reported must not look like an empty list. */
function strictFanOut(context: ReadContext): FanOut {
  return {
    async ask({ read, count }) {
      const raw = await read(context);
      count(raw);
      return { raw };
    },
    attribute: (item) => item,
    leaveOut(part, call, count) {
      if (count > 0) throw new TypeError(`${call}() of ${part.name} returned items that cannot be read.`);
    },
  };
}
