declare const styles: {
  readonly empty: string
}
export default styles
