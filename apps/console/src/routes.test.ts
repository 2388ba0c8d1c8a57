import { CONSOLE_PATHS } from '@muster/actions'
import { QueryClient } from '@tanstack/react-query'
import { expect, it } from 'vitest'
import { createAppRouter } from './routes.tsx'

it('O7: has exactly the pages in CONSOLE_PATHS, by which the hub recognizes console URLs', () => {
  const paths = Object.keys(createAppRouter(new QueryClient()).routesByPath)
  expect(new Set(paths.map(path => path.replace(/(.)\/$/, '$1')))).toEqual(new Set(CONSOLE_PATHS))
})
