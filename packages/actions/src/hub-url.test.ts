import { expect, it } from 'vitest'
import { agentCommand, isLoopback } from './hub-url.ts'

it.each([
  ['http://localhost:6878', true],
  ['http://hub.localhost', true],
  ['http://127.0.0.1', true],
  ['http://127.1.2.3:80', true],
  ['http://[::1]:6878', true],
  ['http://2130706433', true],
  ['https://hub.example', false],
  ['http://localhost.example', false],
  ['http://notlocalhost', false],
  ['http://127.example', false],
  ['http://127.0.0.1.example', false],
  ['http://10.0.0.1', false],
  ['http://0.0.0.0', false],
  ['http://[::]', false],
  ['http://[::ffff:10.0.0.1]', false],
])('%s is reached on this machine only: %s', (url, expected) => {
  expect(isLoopback(url)).toBe(expected)
})

it.each([
  ['http://localhost:6878', ''],
  ['https://hub.example', ''],
  ['http://10.0.0.1:6878', ' --dangerous-allow-plaintext'],
])('the command for %s is one that the agent takes', (url, option) => {
  expect(agentCommand(url, '/srv/muster/first-token')).toBe(
    `npm run agent -- run --hub ${url} --token-file /srv/muster/first-token${option}`,
  )
})
