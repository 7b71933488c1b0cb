/** Lists of several parts, merged into one, each part keeping its own place. */

/** An item, with what it is merged by. */
export interface Placed<Item, Place> {
  readonly item: Item;
  readonly place: Place;
}

/** The items of one part, in its own order. */
export interface Lane<Item, Place> {
  readonly items: readonly Placed<Item, Place>[];
  /** Everything that this part has yet to give comes behind this place; `null`: it has no more. */
  readonly rest: Place | null;
}

/** How many items of each lane, in the order of the lanes, and all of them in theirs. */
export interface Merged<Item> {
  readonly items: readonly { readonly item: Item; readonly lane: number }[];
  readonly taken: readonly number[];
}

/**
 * Takes the first items over all lanes. It stops early where a lane has ended and has more to give that
 * nobody has seen yet: what comes behind it must wait.
 *
 * @param compare negative when the first place comes first; equal ones in the order of the lanes
 */
export function mergeLanes<Item, Place>(
  lanes: readonly Lane<Item, Place>[],
  limit: number,
  compare: (a: Place, b: Place) => number,
): Merged<Item> {
  const taken = lanes.map(() => 0);
  const items: { item: Item; lane: number }[] = [];

  /** The lane whose next item comes first. */
  function front(): number {
    let best = -1;
    let least: Place | undefined;
    for (let lane = 0; lane < lanes.length; lane += 1) {
      const place = lanes[lane]?.items[taken[lane] as number]?.place;
      if (place === undefined || (least !== undefined && compare(place, least) >= 0)) continue;
      best = lane;
      least = place;
    }
    return best;
  }

  function isHeldBack(place: Place): boolean {
    return lanes.some(
      ({ items: own, rest }, lane) => rest !== null && taken[lane] === own.length && compare(place, rest) > 0,
    );
  }

  while (items.length < limit) {
    const lane = front();
    const next = lanes[lane]?.items[taken[lane] as number];
    if (next === undefined || isHeldBack(next.place)) break;
    items.push({ item: next.item, lane });
    taken[lane] = (taken[lane] as number) + 1;
  }
  return { items, taken };
}
