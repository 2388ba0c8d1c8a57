declare const styles: {
  readonly axis: string
}
export default styles
