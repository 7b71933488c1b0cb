import { checkHost } from './check-host.ts';

const next = {
  project: 'Next.js',
  packages: { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' },
  app: { 'pages/index.js': "export default function Home() {\n  return 'The app';\n}\n" },
  build: ['node_modules/next/dist/bin/next', 'build'],
};

checkHost({ heading: 'Next.js', ...next, start: ['server.mjs'] });
checkHost({
  heading: 'Next.js API route',
  others: ['Next.js'],
  ...next,
  start: ['.next/standalone/server.js'],
  path: '/api/monitor',
});
