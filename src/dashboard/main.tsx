import { render } from 'preact';
import { App } from './app.tsx';
import { listenToKeys } from './frame/keys.ts';
import { readBranding } from './frame/shell.tsx';
import { watchConnection } from './live/connection.ts';
import { startFeed } from './live/feed.ts';
import { soon } from './slices.ts';

const root = document.getElementById('app');
if (root !== null) {
  const branding = readBranding(root);
  root.replaceChildren();
  listenToKeys();
  // In separate tasks, because compiling the code has already taken one.
  soon(() => {
    render(<App branding={branding} />, root);
    soon(() => {
      watchConnection();
      startFeed();
    });
  });
}
