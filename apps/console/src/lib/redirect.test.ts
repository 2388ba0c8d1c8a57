import { describe, expect, it } from 'vitest'
import { safeRedirect } from './redirect.ts'

describe('safeRedirect', () => {
  it.each(['/', '/org_abc/projects', '/org_abc/projects/p_1/devices?q=crane&sort=-name#top', '/a//b'])(
    'keeps %j',
    path => {
      expect(safeRedirect(path)).toBe(path)
    },
  )

  it.each([
    '',
    'org_abc',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '/a\\b',
    '\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    ' /org_abc',
  ])('refuses %j', path => {
    expect(safeRedirect(path)).toBe('/')
  })
})
