export const DIRECT = { name: 'direct', title: 'direct (the upstream itself)', peer: undefined };
export function toContestants(peers) {
    return peers.map((peer) => ({ name: peer.name, title: peer.title, peer }));
}
