/** How a part that is made of others works together with whoever reads it. */
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';

// Symbols that every copy of the package shares: a CommonJS entry carries a copy of this file.
const PARTS = Symbol.for('express-task-monitor.parts');
const GATHERING = Symbol.for('express-task-monitor.gathering');

/** One read of one of the parts. */
export interface Ask<Raw> {
  readonly part: SourcePart;
  /** Name of the method, for reports. */
  readonly call: string;
  /** Tells apart what one read of the whole asks of one method of the same part. Default: it asks once. */
  readonly which?: string;
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Counts the items of an answer.
   *
   * @throws TypeError when it is not of its type
   */
  count(raw: Raw): number;
  /** Whether the last answer to the same may stand in for one that fails. Default true. */
  readonly mayBeOld?: boolean;
}

/** What became of an {@link Ask}. */
export type Reply<Raw> = { readonly raw: Raw } | { readonly error: unknown };

/** One read of a combined part: how it asks its parts, and what it tells of them. */
export interface Gathering {
  /**
   * Asks one part. A failure of the part is a reply and no rejection where somebody is there to tell of it;
   * what is wrong with the request itself rejects in any case.
   */
  ask<Raw>(ask: Ask<Raw>): Promise<Reply<Raw>>;
  /** Notes which part an item came from, and returns the item to list. */
  attribute<Item>(item: Item, part: SourcePart): Item;
  /** Notes items that were left out because they cannot be read. */
  leaveOut(part: SourcePart, call: string, count: number): void;
}

/** The parts that a part is made of, in their order; itself, when it is made of no others. */
export function partsOf<Part extends SourcePart>(part: Part): readonly Part[] {
  return (part as { readonly [PARTS]?: readonly Part[] })[PARTS] ?? [part];
}

/** Marks a part as made of others. */
export function withParts<Part extends SourcePart>(part: Part, parts: readonly Part[]): Part {
  return { ...part, [PARTS]: parts };
}

/** What {@link withGathering} gave with a context; otherwise a gathering in which every failure rejects. */
export function gatheringOf(context: ReadContext): Gathering {
  return (context as { readonly [GATHERING]?: Gathering })[GATHERING] ?? strict(context);
}

/** Lets a combined part ask by this gathering. Changes the context. */
export function withGathering(context: ReadContext, gathering: Gathering): ReadContext {
  return Object.defineProperty(context, GATHERING, { value: gathering, enumerable: true });
}

/** Without anybody to tell of an outage, an outage must not look like an empty list. */
function strict(context: ReadContext): Gathering {
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
