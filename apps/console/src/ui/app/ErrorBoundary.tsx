import { Component, type ReactNode } from 'react'

type Props = {
  fallback: (error: unknown, again: () => void) => ReactNode
  children: ReactNode
}

/** Shows `fallback` after a rendering error. The function `again` renders the children again. */
export class ErrorBoundary extends Component<Props, { failure?: { error: unknown } }> {
  override state: { failure?: { error: unknown } } = {}

  static getDerivedStateFromError(error: unknown) {
    return { failure: { error } }
  }

  again = () => this.setState({ failure: undefined } as object)

  override render() {
    const { failure } = this.state
    return failure ? this.props.fallback(failure.error, this.again) : this.props.children
  }
}
