import { expect, it } from 'vitest'
import { deviceNameText } from './device-name.ts'

it.each([
  [{ name: 'crane', hostname: 'crane-gw' }, 'crane'],
  [{ hostname: 'crane-gw' }, 'unnamed (crane-gw)'],
  [{}, 'unnamed'],
])('C11: calls %j %s', (names, text) => {
  expect(deviceNameText(names)).toBe(text)
})
