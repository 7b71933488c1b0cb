import { existsSync } from 'node:fs';

// The shell has the same engine without a window around it: a page costs it half as much.
const PLACES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(
  (name) => `/usr/bin/${name}`,
);

/** The browser; `undefined` where there is none. */
export const executablePath = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path));

/** What to install; `null` when a browser is there. */
export const browserMissing: string | null =
  executablePath === undefined ? 'install chromium, or set CHROMIUM to one' : null;
