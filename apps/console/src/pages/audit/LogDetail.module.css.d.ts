declare const styles: {
  readonly arrow: string
  readonly detail: string
  readonly entries: string
  readonly raw: string
}
export default styles
