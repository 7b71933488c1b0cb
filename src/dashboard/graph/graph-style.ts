import '../style/graph.css';
