select count(*) as labels from tenant_labels
