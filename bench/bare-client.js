// Yardstick for the memory of an agent: holds one WebSocket over mutual TLS, pings every 5 s as the agent does, and nothing else.
// JavaScript, because stripping types takes memory. Arguments: address, folder with the PEM files.
import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'

const [url, folder] = process.argv.slice(2)
const webSocket = new WebSocket(url, {
  cert: readFileSync(`${folder}/cert.pem`),
  key: readFileSync(`${folder}/key.pem`),
  ca: readFileSync(`${folder}/hub.pem`),
  perMessageDeflate: false,
})
webSocket.on('message', () => {})
webSocket.on('open', () => {
  process.stderr.write('connected\n')
  setInterval(() => webSocket.ping(), 5000)
})
