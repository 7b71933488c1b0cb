/** Loads code of the page when it is first shown. */
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { soon } from '../slices.ts';

const PAUSE_S = 2;
const LONGEST_S = 60;
/** A file that is there, although the code could not be loaded, has been missed in a moment that is over. */
const MOST_MOMENTS = 3;

/** A part of the page whose code is loaded when it is first shown, or before. */
export interface Lazy<Props> {
  (props: Props): ComponentChildren;
  /** Loads the code. A failure is shown when the part is. */
  preload(): void;
}

/**
 * @param load imports the code; if that fails, it is tried again when the part is shown again
 * @param instead what is shown until the code is loaded, or after it could not be; `error`: why. Default: nothing
 */
export function lazy<Props extends object>(
  load: () => ComponentType<Props> | Promise<ComponentType<Props>>,
  instead: (error: unknown) => ComponentChildren = () => null,
): Lazy<Props> {
  let loaded: ComponentType<Props> | null = null;
  const start = async (): Promise<void> => {
    loaded ??= await loadCode(load);
  };
  function Part(props: Props) {
    const [, setLoaded] = useState(false);
    const [error, setError] = useState<unknown>(null);
    useEffect(() => {
      // Rendered in a separate task, so that it does not prolong the one that compiles the code.
      if (loaded === null) start().then(() => soon(() => setLoaded(true)), setError);
      // It may have been loaded since this was rendered.
      else setLoaded(true);
    }, []);
    const Loaded = loaded;
    return Loaded === null ? instead(error) : <Loaded {...props} />;
  }
  return Object.assign(Part, { preload: () => void start().catch(() => {}) });
}

/**
 * A server or proxy that is short of capacity may refuse a file for a moment.
 *
 * @throws what the import throws, if waiting does not help: the names of files change with each version
 */
export async function loadCode<Code>(load: () => Code | Promise<Code>): Promise<Code> {
  for (let moments = 0; ; ) {
    try {
      return await load();
    } catch (error) {
      const response = await askFor(error);
      const isBusy = response !== null && (response.status === 429 || response.status === 503);
      if (!isBusy) moments = response?.ok === true ? moments + 1 : MOST_MOMENTS + 1;
      if (moments > MOST_MOMENTS) throw error;
      const seconds = Number(response?.headers.get('Retry-After') ?? PAUSE_S) || PAUSE_S;
      await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, LONGEST_S) * 1_000));
    }
  }
}

/** Asks for the file that could not be imported; the error has its address in most browsers. */
async function askFor(error: unknown): Promise<Response | null> {
  const url = /https?:\/\/\S+\.js/.exec(String(error))?.[0];
  return url === undefined ? null : fetch(url).catch(() => null);
}
