CREATE TABLE `organization_sizes` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`customers` integer NOT NULL,
	`samples` integer NOT NULL,
	`sample_bytes` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `organizations` ADD `sample_bytes_max` integer DEFAULT 268435456 NOT NULL;--> statement-breakpoint
ALTER TABLE `samples` ADD `stored_bytes` integer GENERATED ALWAYS AS (payload_bytes + 1024 + LENGTH(CAST(COALESCE(sample_id, '') || COALESCE(customer_id, '') || COALESCE(feature, '') || COALESCE(environment, '') || COALESCE(tags, '') || COALESCE(provider, '') || COALESCE(model, '') || COALESCE(decision_id, '') || COALESCE(decision_policy_version, '') AS BLOB))) VIRTUAL;
--> statement-breakpoint
-- What there is so far. No payload is read.
INSERT INTO organization_sizes (organization_id, customers, samples, sample_bytes)
SELECT organization_id,
  (SELECT COUNT(*) FROM customers WHERE customers.organization_id = organizations.organization_id),
  (SELECT COUNT(*) FROM samples WHERE samples.organization_id = organizations.organization_id),
  (SELECT COALESCE(SUM(stored_bytes), 0) FROM samples WHERE samples.organization_id = organizations.organization_id)
FROM organizations;
--> statement-breakpoint
-- From here on every customer and every sample counts as it comes and goes. Neither changes its organization, and no sample its size.
CREATE TRIGGER `organization_sizes_of_new_customers` AFTER INSERT ON `customers` BEGIN
  INSERT INTO organization_sizes (organization_id, customers, samples, sample_bytes) VALUES (NEW.organization_id, 1, 0, 0)
  ON CONFLICT DO UPDATE SET customers = customers + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `organization_sizes_of_gone_customers` AFTER DELETE ON `customers` BEGIN
  UPDATE organization_sizes SET customers = customers - 1 WHERE organization_id = OLD.organization_id;
END;
--> statement-breakpoint
-- A sample beyond its organization's quota is not inserted; that is no error, so whoever inserts has to look.
CREATE TRIGGER `samples_within_quota` BEFORE INSERT ON `samples`
WHEN COALESCE((SELECT sample_bytes FROM organization_sizes WHERE organization_id = NEW.organization_id), 0) + NEW.stored_bytes
  > (SELECT sample_bytes_max FROM organizations WHERE organization_id = NEW.organization_id)
BEGIN
  SELECT RAISE(IGNORE);
END;
--> statement-breakpoint
CREATE TRIGGER `organization_sizes_of_new_samples` AFTER INSERT ON `samples` BEGIN
  INSERT INTO organization_sizes (organization_id, customers, samples, sample_bytes) VALUES (NEW.organization_id, 0, 1, NEW.stored_bytes)
  ON CONFLICT DO UPDATE SET samples = samples + 1, sample_bytes = sample_bytes + excluded.sample_bytes;
END;
--> statement-breakpoint
CREATE TRIGGER `organization_sizes_of_gone_samples` AFTER DELETE ON `samples` BEGIN
  UPDATE organization_sizes SET samples = samples - 1, sample_bytes = sample_bytes - OLD.stored_bytes WHERE organization_id = OLD.organization_id;
END;
