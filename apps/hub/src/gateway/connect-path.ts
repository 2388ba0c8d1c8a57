/** Path at which devices and command-line clients open their WebSocket (docs/protocol.md 1). */
export const CONNECT_PATH = '/api/v1/connect/ws'
