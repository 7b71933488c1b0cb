import { checkHost } from './check-host.ts';

checkHost({
  heading: 'Next.js',
  packages: { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' },
  build: ['node_modules/next/dist/bin/next', 'build'],
  start: ['server.mjs'],
});
