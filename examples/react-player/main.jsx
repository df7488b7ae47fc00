// npm install react react-dom hls.js mux-embed vite; npx vite examples/react-player
// Open http://localhost:5173/?server=http://localhost:8080&id=<playback id>&environment=<its ID>
import { createRoot } from 'react-dom/client';
import { Player } from './player.jsx';

const query = new URLSearchParams(location.search);
createRoot(document.getElementById('root')).render(
  <Player
    server={query.get('server')}
    playbackId={query.get('id')}
    token={query.get('token') ?? undefined}
    environmentId={query.get('environment') ?? undefined}
  />,
);
