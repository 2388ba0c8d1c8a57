declare const styles: {
  readonly arrow: string
  readonly detail: string
  readonly entries: string
  readonly raw: string
  readonly ways: string
}
export default styles
