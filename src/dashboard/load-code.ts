/** Loads code of the page. A server or proxy that is short of capacity may refuse a file for a moment. */

const PAUSE_S = 2;
const LONGEST_S = 60;
/** A file that is there, although the code could not be loaded, has been missed in a moment that is over. */
const MOST_MOMENTS = 3;

/** @throws what the import throws, if waiting does not help: the names of files change with each version */
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
