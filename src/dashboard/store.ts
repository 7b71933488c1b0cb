/** Values that components can subscribe to. */
import { useEffect, useState } from 'preact/hooks';

/** A value that components can subscribe to. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  /** @returns function that unsubscribes */
  subscribe(listener: () => void): () => void;
}

/** Creates a store with an initial value. */
export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The value of a store. The component renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.get);
  useEffect(() => {
    const read = (): void => setValue(() => store.get());
    read();
    return store.subscribe(read);
  }, [store]);
  return value;
}

/** Where a phone's layout begins, as in the styles. */
const NARROW = '(max-width: 760px)';

/** Whether the window is as narrow as that of a phone. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const read = (): void => setNarrow(media.matches);
    read();
    media.addEventListener('change', read);
    return () => media.removeEventListener('change', read);
  }, []);
  return isNarrow;
}
