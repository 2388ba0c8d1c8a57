declare const styles: {
  readonly line: string
  readonly title: string
}
export default styles
